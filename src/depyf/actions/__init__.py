"""What is done with a run, or asked of compiled functions: debugger, doctor, edits, export, gallery, scripts for
reports."""
