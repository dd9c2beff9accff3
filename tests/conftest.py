"""Settings that every test shares.

Property tests draw the same examples on every run, so that a failure in CI is one that anyone can repeat.
`HYPOTHESIS_PROFILE=search` draws new ones.
"""
import os

from hypothesis import settings

settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("search", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))
