"""Frontends: each turns a framework's training step into a module of contract A (docs: the step)."""
