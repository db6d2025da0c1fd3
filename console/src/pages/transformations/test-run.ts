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

interface LogLine {
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
  /** The whole chain in order. */
  readonly chain: readonly Transformation[];
  readonly scope: TestScope;
  /** Unsaved settings. */
  readonly settings: SettingValues;
  /** Unsaved code. */
  readonly files?: PluginFiles | undefined;
}

/** Returns the steps of a test: this step with unsaved changes, and with scope `chain` also all enabled steps. */
export function testSteps({ config, chain, scope, settings, files }: TestPlan): readonly JsonObject[] {
  const typed = Object.entries(settings).filter(([, value]) => !(value instanceof File));
  const step = {
    config_id: config.id,
    ...(typed.length === 0 ? {} : { settings: Object.fromEntries(typed) }),
    ...(files === undefined ? {} : { files }),
  };
  if (scope === 'step') return [step];
  return chain
    .filter(({ id, enabled }) => enabled || id === config.id)
    .map(({ id }) => (id === config.id ? step : { config_id: id }));
}

interface TestOptions {
  readonly event: JsonObject;
  readonly steps: readonly JsonObject[];
  readonly requests: 'real' | 'refused';
}

/** Runs a test without storing, capturing or starting anything. */
export function runTest(projectId: number, options: TestOptions): Promise<TestResult> {
  return request(`${transformationsPath(projectId)}/test`, { method: 'POST', body: options });
}
