"""The fault suite: clients that write down every call, faults under them, and a checker of what is left."""
