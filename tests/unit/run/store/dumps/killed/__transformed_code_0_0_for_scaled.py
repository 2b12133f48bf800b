# scaled (/work/program.py:9), compile id 0/0:
# the code that torch.compile runs in its place, once the guards in full_code_for_*.py have chosen it.
# Verdict: EQUIVALENT (proven)
# This text is what runs, with the lines of your program; inside depyf.debug() breakpoints here stop.
# __compiled_fn_0_0(...) is the compiled graph in __compiled_fn_0_0.*.py
# __resume_at_40_3(...) continues the function after a graph break

def __transformed_code_0_0_for_scaled(x, factor):
    entered = __import_torch_dot__dynamo_dot_utils.record_pregraph_bytecode_enter()  # program.py:9, torch's bookkeeping
    __import_torch_dot__dynamo_dot_utils.record_pregraph_bytecode_exit(entered)  # torch's bookkeeping
    y = __compiled_fn_0_0(x)[0]
    return __resume_at_40_3([], [], __builtins_dict___1["print"]("scaled"), y)  # program.py:11
