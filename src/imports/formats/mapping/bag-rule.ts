import { isObject } from '../../../base/json.ts';
import { setMember, type Json, type Properties } from '../read-values.ts';
import { refuse, valueRule, type ValueRule } from './value-rule.ts';

/** Several named values: properties, `$set`, groups. */
export interface BagRule {
  readonly addTo: (record: Json, target: Properties) => void;
  readonly columns: readonly string[];
  /** Name → rule, in this order. */
  readonly rules: readonly (readonly [string, ValueRule])[];
}

/** Parses a list of columns, which keep their names, or an object of name → rule. Throws FormatOptionsError. */
export function bagRule(rule: unknown, at: string): BagRule {
  const rules = entriesOf(rule, at);
  return {
    rules,
    addTo: (record, target) => {
      for (const [name, rule] of rules) {
        const value = rule.read(record) ?? emptyText(rule, record);
        if (value !== undefined) setMember(target, name, value);
      }
    },
    columns: rules.flatMap(([, each]) => each.columns),
  };
}

/** Keeps an empty text as the value of a property; elsewhere it counts as missing, since it identifies nothing. */
export function emptyText({ form }: ValueRule, record: Json): '' | undefined {
  const isColumn = form !== undefined && 'path' in form && Object.hasOwn(record, form.path);
  return isColumn && !form.path.includes('.') && record[form.path] === '' ? '' : undefined;
}

function entriesOf(rule: unknown, at: string): readonly (readonly [string, ValueRule])[] {
  if (rule === undefined) return [];
  if (Array.isArray(rule)) {
    return (rule as readonly unknown[]).map((column, index) => {
      if (typeof column !== 'string') refuse(`${at}[${index}]`, 'the name of a column', column);
      return [column, valueRule({ path: column }, `${at}[${index}]`)] as const;
    });
  }
  if (!isObject(rule)) refuse(at, 'a list of columns, or an object of names and rules', rule);
  return Object.entries(rule).map(([name, each]) => [name, valueRule(each, `${at}.${name}`)] as const);
}
