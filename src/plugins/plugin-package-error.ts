/** What is wrong with a plugin that somebody wants to install, in a sentence for them. */
export class PluginPackageError extends Error {
  override name = 'PluginPackageError';
  /** Field of the request at fault; null: the plugin itself. */
  readonly attr: 'files' | 'url' | 'npm' | 'archive' | 'version' | null;

  constructor(message: string, options: { readonly attr?: PluginPackageError['attr']; readonly cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.attr = options.attr ?? null;
  }
}
