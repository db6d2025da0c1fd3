import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { capturePage } from './reference/capture-page.ts';
import { cliPage, cliPages } from './reference/cli-page.ts';
import { configurationFileSchemaText } from '../src/cli/files/json-schema.ts';
import { formatPages, formatsPage } from './reference/formats-page.ts';
import { helmValuesPage } from './reference/helm-values-page.ts';
import { pageSections, withSection } from './reference/page-sections.ts';
import { openApiDocument } from './reference/openapi-document.ts';
import { pluginPages, pluginsPage } from './reference/plugins-page.ts';
import {
  doctorPage,
  errorsPage,
  metricsPage,
  scopesPage,
  settingsPage,
  warningsPage,
} from './reference/table-pages.ts';

/**
 * Every generated file of docs/reference, from the tables that the program itself works with. A new page is one line
 * here: its path from the root, and a pure function that gives its text. test/docs.test.ts compares; `npm run docs` writes.
 */
export const docPages: Readonly<Record<string, () => string>> = {
  'docs/reference/settings.md': settingsPage,
  'docs/reference/capture.md': capturePage,
  'docs/reference/errors.md': errorsPage,
  'docs/reference/warnings.md': warningsPage,
  'docs/reference/metrics.md': metricsPage,
  'docs/reference/scopes.md': scopesPage,
  'docs/reference/helm-values.md': helmValuesPage,
  'docs/reference/doctor.md': doctorPage,
  'docs/reference/plugins.md': pluginsPage,
  ...pluginPages,
  'docs/reference/formats.md': formatsPage,
  ...formatPages,
  'docs/reference/cli.md': cliPage,
  ...cliPages,
  'docs/reference/configuration-file.schema.json': configurationFileSchemaText,
  'docs/reference/openapi.json': openApiDocument,
};

if (import.meta.main) {
  const root = dirname(dirname(fileURLToPath(import.meta.url)));
  // Pages of plugins, formats and commands that are gone.
  for (const folder of ['plugins', 'formats', 'cli']) {
    rmSync(join(root, 'docs/reference', folder), { recursive: true, force: true });
  }
  for (const [path, generate] of Object.entries(docPages)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), generate());
    console.log(path);
  }
  for (const [name, { page, generate }] of Object.entries(pageSections)) {
    const path = join(root, page);
    writeFileSync(path, withSection(readFileSync(path, 'utf8'), name, generate()));
    console.log(`${page}: ${name}`);
  }
}
