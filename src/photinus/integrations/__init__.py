"""Photinus inside other tools, one module for each.

Every module imports its package when it is imported itself, and says which line installs it where it is missing or
too old. Nothing is imported here.
"""
