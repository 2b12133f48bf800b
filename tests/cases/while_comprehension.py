def lark(nonterminals, v):
    while dict(nonterminals) != (
        nonterminals := {k: clean for k, v in nonterminals.items()}
    ):
        allowed = {*nonterminals}
    return allowed
# output
def lark(nonterminals, v):
    while dict(nonterminals) != (nonterminals := {k: clean for k, v in nonterminals.items()}):
        allowed = {*nonterminals}
    return allowed
