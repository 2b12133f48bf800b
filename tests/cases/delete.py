def delete(a, b, obj):
    del a
    del obj.field
    del obj[0]
    del obj[1:2]
    del b
    del obj.x
    del obj[b]
    del obj
