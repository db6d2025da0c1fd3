import { bundle } from './bundle.ts';
import type { PackageFiles } from './package-files.ts';

export const frontendFile = 'frontend.tsx';

/**
 * The front end of a plugin as a JavaScript module: `getFrontendApp(require)` returns what frontend.tsx exports; React and
 * the other packages that it imports come from that `require`. Undefined: it has none. Throws PluginPackageError.
 */
export async function buildFrontend(
  files: PackageFiles,
): Promise<{ readonly module: string; readonly inputs: readonly string[] } | undefined> {
  if (!files.has(frontendFile)) return undefined;
  const { code, inputs } = await bundle(files, frontendFile);
  // JSX needs React whether or not the file names it.
  const react = /\bReact\.(createElement|Fragment)\b/.test(code) ? 'const React = require("react");\n' : '';
  const module = `export function getFrontendApp(require) {
${react}const exports = {};
const module = { exports };
(function (exports, module, require) {
${code}
})(exports, module, require);
return module.exports;
}
`;
  return { module, inputs };
}
