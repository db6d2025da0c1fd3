import { request } from '../../api/request.ts';
import type { JsonObject } from '../../components/json-value.ts';
import type { SettingValues } from '../../components/schema-values.ts';
import { transformationsPath, type PluginFiles, type Transformation } from './transformation-queries.ts';

export type Outcome = 'kept' | 'dropped' | 'failed' | 'skipped';

export interface TestedEvent {
  readonly uuid: string;
  readonly event: string;
  readonly distinct_id: string;
  readonly timestamp: string;
  readonly properties: JsonObject;
}

export interface LogLine {
  readonly level: string;
  readonly message: string;
}

export interface TestedStep {
  readonly config_id: number | null;
  readonly index: number;
  readonly name: string;
  readonly outcome: Outcome;
  readonly after: TestedEvent | null;
  readonly diff: readonly unknown[];
  readonly logs: readonly LogLine[];
  readonly error: { readonly name: string; readonly message: string; readonly stack: string } | null;
  readonly captured: readonly { readonly event: string }[];
  readonly time_ms: number;
  readonly truncated: readonly string[];
}

export interface TestResult {
  readonly before: TestedEvent;
  readonly after: TestedEvent | null;
  readonly outcome: Outcome;
  readonly steps: readonly TestedStep[];
}

export type TestScope = 'step' | 'chain';

interface TestPlan {
  readonly config: Transformation;
  /** The whole chain in its order. */
  readonly chain: readonly Transformation[];
  readonly scope: TestScope;
  /** Settings that are not saved yet. */
  readonly settings: SettingValues;
  /** Code that is not saved yet. */
  readonly files?: PluginFiles | undefined;
}

/** Steps of a test: this one with what is not saved; in a whole chain beside those that are switched on. */
export function testSteps({ config, chain, scope, settings, files }: TestPlan): readonly JsonObject[] {
  const typed = Object.entries(settings).filter(([, value]) => !(value instanceof File));
  const own = {
    config_id: config.id,
    ...(typed.length === 0 ? {} : { settings: Object.fromEntries(typed) }),
    ...(files === undefined ? {} : { files }),
  };
  if (scope === 'step') return [own];
  return chain
    .filter(({ id, enabled }) => enabled || id === config.id)
    .map(({ id }) => (id === config.id ? own : { config_id: id }));
}

interface TestOptions {
  readonly event: JsonObject;
  readonly steps: readonly JsonObject[];
  readonly requests: 'real' | 'refused';
}

/** Nothing is stored, captured or started. */
export function runTest(projectId: number, options: TestOptions): Promise<TestResult> {
  return request(`${transformationsPath(projectId)}/test`, { method: 'POST', body: options });
}
