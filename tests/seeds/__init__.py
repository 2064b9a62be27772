"""Known defects, put into published sources one at a time, and the share of them that a check finds.

`python -m tests.seeds` prints the share by kind. The places are found here by `ast` alone, so that what is measured has
no say in what it is measured by.
"""
