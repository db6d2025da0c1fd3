/** An error of a plugin package, as a sentence for the user who installs it. */
export class PluginPackageError extends Error {
  override name = 'PluginPackageError';
  /** The invalid field of the request; null for the plugin itself. */
  readonly attr: 'files' | 'url' | 'npm' | 'archive' | 'version' | null;

  constructor(message: string, options: { readonly attr?: PluginPackageError['attr']; readonly cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.attr = options.attr ?? null;
  }
}
