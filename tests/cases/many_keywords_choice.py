def returned(a, b, c, d):
    return call(
        one=a.one,
        two=a.two,
        three=a.three,
        four=a.four,
        five=a.five,
        six=a.six,
        seven=a.seven,
        eight=a.eight,
        nine=a.nine if b else c(None),
        ten=a.ten,
        eleven=a.eleven,
        twelve=a.twelve.twelve,
        thirteen=a.thirteen.thirteen,
        fourteen=a.fourteen.fourteen,
        fifteen=a.fifteen or d,
        sixteen=a.sixteen.sixteen,
        seventeen=a.seventeen,
    )


def at_end(a, b, c):
    x = a.first if b else c.second.third(a)
    call(x, a.one, a.two, a.three, [a, b, c], {"key": a.value, "other": b.value})
    y = [
        a.first(b, c, x) if b else c.second.third(a),
        a.one,
        a.two,
        a.three,
        a.four,
        a.five,
        a.six,
        [a, b, c],
        x,
    ]
