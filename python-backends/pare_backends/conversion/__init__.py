"""Trials as files that other libraries load: one file a format, `formats.py` lists them.

A format writes the integers, scales and zero points that the checkpoint holds, never rounded again,
in the published layout of its library. Needs numpy alone, as reading a checkpoint does; `check.py`
reads what was written, in a process of its own.
"""
