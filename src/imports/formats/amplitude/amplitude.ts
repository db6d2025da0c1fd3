import type { Format } from '../format.ts';
import { formatByMap } from '../format-by-map.ts';
import { evidence } from './evidence.ts';
import example from './example.json' with { type: 'json' };
import { amplitudeMap } from './map.ts';
import { amplitudeNames } from './names.ts';

const about = {
  slug: 'amplitude',
  name: 'Amplitude',
  description:
    'Events of the export with all properties of event, user and groups. distinct_id is user_id, else device_id, else ' +
    'amplitude_id; the uuid is the export’s own. Sessions keep their start in `$session_id`. Of the operations in user_properties, $set, $setOnce and $unset are applied; ' +
    'others depend on the value before and are named by the check. In the table of names, ' +
    '`column:x` is the column x of the export.',
  source:
    'The Export API (`/api/2/export`): a zip of gzipped files with one JSON object per line. Or the table of events of a ' +
    'warehouse, as Amplitude, Fivetran and other loaders fill it.',
  options: [
    {
      key: 'identify',
      description: 'Whether `$identify` links each device to its user',
      default: 'yes',
      choices: ['yes', 'no'],
    },
    {
      key: 'user_properties',
      description: 'Whether every event carries the user properties of its moment in `$set`',
      default: 'yes',
      choices: ['yes', 'no'],
    },
  ],
  times: {
    own: ['event_time', 'client_event_time', 'server_received_time'],
    received: ['server_received_time', 'server_upload_time'],
  },
  evidence,
  names: amplitudeNames,
  example,
};

export const amplitude: Format = formatByMap(about, ({ options, names, writer, memory }) =>
  amplitudeMap({
    writer,
    links: memory.links,
    names,
    identify: options['identify'] === 'yes',
    setsPerson: options['user_properties'] === 'yes',
  }),
);
