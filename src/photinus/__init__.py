"""Photinus."""
