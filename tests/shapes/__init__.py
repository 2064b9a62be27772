"""One small model for each shape of code that call paths have to understand, with the paths that it has.

A comment `# -> BLOCK ROUTE(PARAMETER=VALUE, ...)` before a call is one path that leads there, as
`# -> self.blocks[*] checkpointed(x=x, mask=mask)`; `?` stands for any value, `BLOCK.METHOD` for another entry than
forward, and `dead` at the end for a branch that no present call takes.
"""
