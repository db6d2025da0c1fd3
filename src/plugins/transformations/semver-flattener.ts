import { defineTransformation, wrongSetting } from '../plugin.ts';
import type { JsonObject } from '../../base/json.ts';
import { locate, propertyPath, setOwn } from '../property-path.ts';
import { listSetting } from '../setting-values.ts';

export const semverFlattener = defineTransformation({
  slug: 'semver-flattener',
  name: 'Semantic version flattener',
  description:
    'Splits versions such as 1.2.3-beta+7 into properties that can be compared: major, minor, patch and so on.',
  alsoKnownAs: [
    'posthog-semver-flattener',
    'semver-flattener-plugin',
    'plugin-semver-flattener-plugin',
    'template-semver-flattener',
    'SemVer flattener',
  ],
  differences: [
    'Invalid versions are skipped; the published one writes non-numeric parts, and fails on a value that is not text.',
    'A leading "v" is ignored: v1.2.3 is 1.2.3. Missing parts are not written.',
    'Dots select nested properties; the parts are written next to the version.',
  ],
  fields: [
    {
      key: 'properties',
      name: 'Properties that hold a version',
      type: 'string',
      required: true,
      hint: 'Comma-separated: app_version, my_version_number. Nested properties with dots.',
    },
  ],
  example: {
    settings: { properties: 'app_version' },
    before: { event: 'app opened', properties: { app_version: '2.10.1-beta.3+77' } },
    after: {
      properties: {
        app_version: '2.10.1-beta.3+77',
        app_version__major: 2,
        app_version__minor: 10,
        app_version__patch: 1,
        app_version__preRelease: 'beta.3',
        app_version__build: '77',
      },
    },
  },
  create(settings) {
    const paths = listSetting(settings, 'properties').map(propertyPath);
    if (paths.length === 0) throw wrongSetting('properties', 'expected at least one property');
    return (event) => {
      for (const path of paths) {
        const place = locate(event.properties, path);
        const version = place?.holder[place.key];
        if (place !== undefined && typeof version === 'string') writeParts(place.holder, place.key, version);
      }
      return event;
    };
  },
});

const wholeNumber = /^\d+$/;

function writeParts(holder: JsonObject, key: string, version: string): void {
  const [head = '', build] = version.split('+', 2);
  const dash = head.indexOf('-');
  const core = dash === -1 ? head : head.slice(0, dash);
  const numbers = (core.startsWith('v') ? core.slice(1) : core).split('.', 3);
  if (!numbers.every((part) => wholeNumber.test(part))) return;
  const [major, minor, patch] = numbers;
  setOwn(holder, `${key}__major`, Number(major));
  if (minor !== undefined) setOwn(holder, `${key}__minor`, Number(minor));
  if (patch !== undefined) setOwn(holder, `${key}__patch`, Number(patch));
  if (dash !== -1 && dash < head.length - 1) setOwn(holder, `${key}__preRelease`, head.slice(dash + 1));
  if (build !== undefined) setOwn(holder, `${key}__build`, build);
}
