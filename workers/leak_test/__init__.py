"""`restante leak-test`: whether a build keeps its promises, tried on a disposable database."""
