/** One version with the server's (pyproject.toml); a test compares them. */
export const version = "0.1.0";
