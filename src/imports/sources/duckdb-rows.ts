import type * as DuckDb from '@duckdb/node-api';

type Value = DuckDb.DuckDBValue;
type Type = DuckDb.DuckDBType;

/**
 * Gives the JSON of a value: numbers that a double cannot hold with every digit as text, times in ISO 8601 with all their digits
 * and in UTC, bytes in base64.
 */
export function createDuckDbJson(library: typeof DuckDb): (value: Value, type: Type) => string {
  const {
    DuckDBArrayValue,
    DuckDBBlobValue,
    DuckDBDecimalValue,
    DuckDBListValue,
    DuckDBMapValue,
    DuckDBStructValue,
    DuckDBTimestampMillisecondsValue,
    DuckDBTimestampNanosecondsValue,
    DuckDBTimestampSecondsValue,
    DuckDBTimestampTZValue,
    DuckDBTimestampValue,
    DuckDBTypeId,
    DuckDBUnionValue,
    DuckDBVariantValue,
  } = library;
  const times = [
    DuckDBTimestampValue,
    DuckDBTimestampSecondsValue,
    DuckDBTimestampMillisecondsValue,
    DuckDBTimestampNanosecondsValue,
  ];
  return jsonOf;

  function jsonOf(value: Value, type: Type | undefined): string {
    switch (typeof value) {
      case 'boolean':
        return String(value);
      case 'bigint':
        return exactNumber(String(value));
      case 'number':
        return numberJson(value, type?.typeId === DuckDBTypeId.FLOAT);
      case 'string':
        return type?.alias === 'JSON' ? jsonText(value) : JSON.stringify(value);
      default:
        return value === null ? 'null' : objectJson(value, type);
    }
  }

  function objectJson(value: NonNullable<Value> & object, type: Type | undefined): string {
    if (value instanceof DuckDBDecimalValue) return exactNumber(value.toString());
    // By itself it writes the time zone of the process.
    if (value instanceof DuckDBTimestampTZValue) return timeJson(new DuckDBTimestampValue(value.micros).toString());
    if (times.some((kind) => value instanceof kind)) return timeJson(value.toString());
    if (value instanceof DuckDBBlobValue) return JSON.stringify(Buffer.from(value.bytes).toString('base64'));
    if (value instanceof DuckDBListValue || value instanceof DuckDBArrayValue) {
      const of = type !== undefined && 'valueType' in type ? type.valueType : undefined;
      return `[${value.items.map((item) => jsonOf(item, of)).join(',')}]`;
    }
    if (value instanceof DuckDBStructValue) {
      const names = Object.keys(value.entries);
      const types = type !== undefined && 'entryTypes' in type ? type.entryTypes : [];
      return objectOf(names.map((name, index) => [name, jsonOf(value.entries[name] ?? null, types[index])]));
    }
    if (value instanceof DuckDBMapValue) {
      const of = type !== undefined && 'valueType' in type ? type.valueType : undefined;
      return objectOf(value.entries.map(({ key, value: own }) => [String(key), jsonOf(own, of)]));
    }
    if (value instanceof DuckDBUnionValue) {
      const of = type !== undefined && 'memberTypeForTag' in type ? type.memberTypeForTag(value.tag) : undefined;
      return jsonOf(value.value, of);
    }
    if (value instanceof DuckDBVariantValue) return jsonOf(value.value, value.type);
    // Dates, times of day, intervals, uuids, bits: as DuckDB writes them.
    return JSON.stringify(value.toString());
  }
}

function objectOf(members: readonly (readonly [name: string, json: string])[]): string {
  return `{${members.map(([name, json]) => `${JSON.stringify(name)}:${json}`).join(',')}}`;
}

/** A double holds 15 digits of any number; more stay a text. */
function exactNumber(text: string): string {
  const digits = text.replaceAll(/\D/g, '').replace(/^0+/, '').length;
  return digits <= 15 || Number.isSafeInteger(Number(text)) ? text : `"${text}"`;
}

/** Of a float the digits that tell it from its neighbours: 0.1 is no 0.10000000149011612. */
function numberJson(value: number, isFloat: boolean): string {
  if (!Number.isFinite(value)) return `"${value}"`;
  if (Object.is(value, -0)) return '-0.0';
  if (!isFloat) return String(value);
  for (let digits = 6; digits < 9; digits += 1) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return String(short);
  }
  return String(value);
}

/** `2024-03-01 10:00:00.123456789`; years before our own and infinity stay what they are. */
function timeJson(text: string): string {
  return JSON.stringify(/^\d{4}-.*\d$/.test(text) ? `${text.replace(' ', 'T')}Z` : text);
}

/** Line breaks can only stand between its values. */
function jsonText(text: string): string {
  return text.replaceAll(/[\r\n]+/g, ' ');
}

/** Writes rows as lines of JSON. */
export function createDuckDbRowWriter(
  library: typeof DuckDb,
  names: readonly string[],
  types: readonly Type[],
): (row: readonly Value[]) => string {
  const json = createDuckDbJson(library);
  const columns = types.map((type, index) => ({ key: `${JSON.stringify(names[index] ?? '')}:`, type }));
  return (row) => `{${columns.map(({ key, type }, index) => key + json(row[index] ?? null, type)).join(',')}}\n`;
}
