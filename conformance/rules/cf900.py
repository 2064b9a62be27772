"""CF900 unreadable-source: A file can't be read as Python, so nothing in it was checked.

Severity: error
Stage: stable
Repair: none

## What it does
Reports each given file, and each file that a given one needs, that can't be read, decoded or parsed, with the reason.
The rest is checked as usual, but what the unreadable file would have told is missing there.

## Why is this bad
A file that wasn't read has no findings, which looks exactly like a file without defects.

## Example
```python
# -*- coding: utf-9 -*-
hidden_states = block(hidden_states)
```

## Use instead
```python
# -*- coding: utf-8 -*-
hidden_states = block(hidden_states)
```

## What it does not see
Syntax newer than the Python that runs the checker is reported as unreadable although a newer Python would read it.
Run the checker on at least the version that the checked code is written for.
"""
