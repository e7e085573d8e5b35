"""The chapters, one folder each: `text.md` the master text, `exercises.py` exercises and predictions."""
