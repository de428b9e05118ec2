"""Reports as text: output formats, one module each, behind one function."""
