def as1(all_params, all_received):
    equivalent = True
    if equivalent:
        while all_params and all_received:
            param = dict(all_params.pop(0))
            for idx, received in enumerate(list(all_received)):
                for param_key in param:
                    if param_key not in received or received[param_key] != param[param_key]:
                        break
                else:
                    del all_received[idx]
                    break
            else:
                equivalent = False
                break
        if all_params or all_received:
            equivalent = False
    return equivalent


def ip(self, obj):
    try:
        try:
            printer = self.singleton_pprinters[obj_id]
        except (TypeError, KeyError):
            pass
        else:
            return printer(obj, self, cycle)
        for cls in _get_mro(obj_class):
            if cls in self.type_pprinters:
                return self.type_pprinters[cls](obj, self, cycle)
        return _default_pprint(obj, self, cycle)
    finally:
        self.end_group()
        self.stack.pop()


def an1(self, variable):
    for _attempt in range(9):
        if variable is None or (value_type := type(variable)) in IGNORE:
            return variable
        with A(template_value=variable) as ctx, B():
            if transform(variable):
                continue
            if ctx.is_top_level or mode is ALWAYS:
                template_result = fin(template_result)
        return template_result
    raise E
