"""Every public function, called with arguments that are made by strategy: what the sweep (`sweep.py`) measures."""
