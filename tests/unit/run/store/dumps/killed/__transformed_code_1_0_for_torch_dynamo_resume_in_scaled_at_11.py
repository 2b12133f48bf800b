# torch_dynamo_resume_in_scaled_at_11 (/work/program.py:11), compile id 1/0:
# the code that torch.compile runs in its place, once the guards in full_code_for_*.py have chosen it.
# Verdict: EQUIVALENT (proven)
# This text is what runs, with the lines of your program; inside depyf.debug() breakpoints here stop.
# __compiled_fn_1_0(...) is the compiled graph in __compiled_fn_1_0.*.py

def __transformed_code_1_0_for_torch_dynamo_resume_in_scaled_at_11(
    __nested_resume_fns, __nested_frame_values, ___stack0, y
):
    entered = __import_torch_dot__dynamo_dot_utils.record_pregraph_bytecode_enter()  # program.py:11, torch's bookkeeping
    __import_torch_dot__dynamo_dot_utils.record_pregraph_bytecode_exit(entered)  # torch's bookkeeping
    return __compiled_fn_1_0(y)[0]
