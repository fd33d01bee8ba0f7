"""Programs in cuTile Python on numpy arrays, each with its own check: python -m tileiras.nogpu -m tileiras.samples.attention"""
