/**
 * What a process needs of the machine: where files are, languages, certificates and proxies, options of Node, and what clients of
 * clouds and of PostgreSQL read without a setting. No setting of the service is among them.
 */
const needed =
  /^(PATH|HOME|USER|LOGNAME|TMPDIR|TZ|LANG|LC_\w+|XDG_\w+|LD_\w+|MALLOC_\w+|NODE_\w+|UV_\w+|SSL_CERT_(FILE|DIR)|(HTTPS?|NO|ALL)_PROXY|(AWS|GOOGLE|GCLOUD|GCE|CLOUDSDK)_\w+|PG[A-Z]+)$/i;

/**
 * Returns the environment for a child process that receives its settings by message, so that neither they nor other secrets of the
 * service's environment can be read from its own.
 */
export function childEnvironment(): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => needed.test(name)));
}
