"""The Python side of the Python backend: one process runs one instance of a model (started by run_model.py)."""
