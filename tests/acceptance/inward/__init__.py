"""A server in a network of its own, in which every address of the internet leads to the test."""
