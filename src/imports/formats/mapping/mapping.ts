import { isObject } from '../../../base/json.ts';
import { createEventWriter, unreadable } from '../event-writer.ts';
import type { Format, FormatOptions, NameTable, RecordReader, RecordResult } from '../format.ts';
import { createMapReader, readByMap, type MapReader } from '../read-by-map.ts';
import { readExample } from '../read-example.ts';
import { readList } from '../read-list.ts';
import { readObjects } from '../read-objects.ts';
import { readOptions } from '../read-options.ts';
import { kindOf, setMember, valueOfJson, type Json, type Properties } from '../read-values.ts';
import type { ReaderMemory } from '../reader-memory.ts';
import { evidence } from './evidence.ts';
import example from './example.json' with { type: 'json' };
import { mappingMap, without } from './map.ts';
import { rulesSchema } from './rules-schema.ts';
import { parentColumn, parseRules, type Rules } from './rules.ts';
import type { ValueRule } from './value-rule.ts';

/** Records of any shape, by rules that a user writes. */
export const mapping: Format = {
  slug: 'mapping',
  name: 'Mapping',
  description:
    'Records of any shape, by rules. `event`, `distinct_id` and `timestamp` are required; `uuid`, `anonymous_id`, `properties`, ' +
    '`others`, `$set`, `$set_once`, `groups`, `$group_set`, `skip`, `nothing`, `each` and `source` may be there. A rule is a column or path ' +
    '(`"user.id"`, which also leads into JSON text), a template (`"{a}-{b}"`), or an object with one of `path`, `constant`, `template`, `first` (a list of rules) and any of ' +
    '`default`, `table` (value → value), `else`, `type` (text, number, boolean, json). `timestamp` may have `format` (iso, s, ' +
    'ms, us, ns, excel or a pattern such as `dd.MM.yyyy HH:mm:ss`) and `zone`. `properties`, `$set`, `$set_once`, `groups` and `$group_set` are lists ' +
    'of columns or objects of name → rule. `$group_set` tells of the one group in `groups`, for the event `$groupidentify`. Columns that no rule takes become properties if `others` is true, which it is ' +
    'unless `properties` is given. `skip` is a list of `{"if": rule, "is": values, "reason": text}`. `nothing` lists texts ' +
    'that stand for no value (`["NULL", "\\\\N", ""]`); an empty text is a property otherwise, null is none. `each` is ' +
    'the list of events in a record (`"data"`): the rules are those of one of them, and what stands around it is `parent` ' +
    '(`"parent.app"`). `source` keeps ids of one source apart from those of another.',
  source: 'Rows and objects of any tool: a CSV with a heading, a query of a warehouse, JSON lines.',
  options: [{ key: 'mapping', description: 'The rules, as JSON. Required', schema: rulesSchema }],
  evidence,
  names: { events: {}, properties: {}, person_properties: {} },
  example: readExample(example),
  createReader,
};

function createReader(given: FormatOptions, names: NameTable, memory?: ReaderMemory): RecordReader {
  const options = readOptions('mapping', mapping.options, given);
  const rules = parseRules(options['mapping'] ?? '');
  const map = mappingMap(rules, createEventWriter('mapping', names, memory), names);
  const { each } = rules;
  if (each === undefined) return readByMap(map);
  const { begin } = createMapReader(map);
  return readObjects((record) => readEach(record, each, rules.nothing, begin));
}

/** All events of a record, or none if one cannot be read. */
function readEach(
  record: Json,
  { read: listOf, columns }: ValueRule,
  nothing: Rules['nothing'],
  begin: MapReader['begin'],
): RecordResult {
  const found = valueOfJson(listOf(record));
  const list = isObject(found) ? [found] : found;
  if (!Array.isArray(list)) return unreadable(`each: expected a list of events, got ${kindOf(found)}`);
  const parent: Properties = {};
  for (const column of Object.keys(record)) if (!columns.includes(column)) setMember(parent, column, record[column]);
  return readList(list, 'each', 'a record without events', (item) =>
    begin({ ...without(nothing, item), [parentColumn]: without(nothing, parent) }),
  );
}
