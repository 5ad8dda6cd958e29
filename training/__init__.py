"""Training of the embedded model's adapter; `python -m training` runs it. It is not part of the wheel."""
