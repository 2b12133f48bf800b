def add(self, other):
        if isinstance(other, Style):
            a, b = attrs(self)
            oa, ob = attrs(other)
            new = Style(
                (oa if (a is None or a.a == 0) else a + oa),
                (b if (ob is None or ob.a == 0) else ob),
                (
                    dumps({**meta, **other_meta})
                    if _meta is not None and other__meta is not None
                    else (_meta if other__meta is None else other__meta)
                ),
            )
            return new
        return NotImplemented
# output
def add(self, other):
    if isinstance(other, Style):
        a, b = attrs(self)
        oa, ob = attrs(other)
        new = Style(
            oa if a is None or a.a == 0 else a + oa,
            b if ob is None or ob.a == 0 else ob,
            dumps({**meta, **other_meta})
            if _meta is not None and other__meta is not None
            else _meta
            if other__meta is None
            else other__meta,
        )
        return new
    return NotImplemented
