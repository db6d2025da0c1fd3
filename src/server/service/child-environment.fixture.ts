/** A child process that reports its environment. */
process.send?.(process.env);
