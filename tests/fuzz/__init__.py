"""Files with random damage, for every reader: ``python -m tests.fuzz`` (``make fuzz``).

Every case follows from a target and a number, so that it can be run again: ``python -m tests.fuzz
parquet --case 4711 --keep`` writes its file and shows the traceback.
"""
