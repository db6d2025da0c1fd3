import { isObject } from '../../../base/json.ts';
import { unreadable, type NoEvents } from '../event-writer.ts';
import type { Format } from '../format.ts';
import { formatByMap, type HeldEvents } from '../format-by-map.ts';
import { kindOf, setMember, valueOfJson, type Json, type Properties } from '../read-values.ts';
import { evidence } from './evidence.ts';
import example from './example.json' with { type: 'json' };
import { mappingMap, without } from './map.ts';
import { rulesSchema } from './rules-schema.ts';
import { parentColumn, parseRules, type Rules } from './rules.ts';
import type { ValueRule } from './value-rule.ts';

const about = {
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
  example,
};

/** Records of any shape, by rules that a user writes. */
export const mapping: Format = formatByMap(about, ({ options, names, writer }) => {
  const rules = parseRules(options['mapping'] ?? '');
  const { each, nothing } = rules;
  const map = mappingMap(rules, writer, names);
  return each === undefined ? map : { ...map, held: (record) => eventsIn(record, each, nothing) };
});

function eventsIn(
  record: Json,
  { read: listOf, columns }: ValueRule,
  nothing: Rules['nothing'],
): HeldEvents | NoEvents {
  const found = valueOfJson(listOf(record));
  const items: unknown = isObject(found) ? [found] : found;
  if (!Array.isArray(items)) return unreadable(`each: expected a list of events, got ${kindOf(found)}`);
  const around: Properties = {};
  for (const column of Object.keys(record)) if (!columns.includes(column)) setMember(around, column, record[column]);
  const parent = without(nothing, around);
  const recordOf = (item: Json): Json => ({ ...without(nothing, item), [parentColumn]: parent });
  return { items, name: 'each', nothing: 'a record without events', recordOf };
}
