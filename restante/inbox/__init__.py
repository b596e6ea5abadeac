"""The inbox: publish, claim, settle, read, and the timers between them. One verb, one page."""
