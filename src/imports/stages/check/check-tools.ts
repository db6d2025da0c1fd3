import type { JoinTable } from '../../choosing/join-table.ts';
import type { Transform } from '../../transform.ts';
import { openConvertModule, type ConvertModule } from './fast/convert-module.ts';
import { createKeptOut, type KeptOut } from '../../../wire/batch/kept-out.ts';
import type { KeptOutList } from '../../../wire/contract/kept-out.ts';
import type { CompiledPlan } from '../../../wire/tracking-plan/compile-plan.ts';
import type { PlanText } from '../../run/tracking-plan-of.ts';
import { compilePlanText } from './plan/plan-text.ts';
import { tableOf, type TableText } from './read-tables.ts';

/** Tools of a thread that checks segments, one at a time. */
export interface CheckTools {
  /** `undefined` if all records are read as objects. */
  readonly module: ConvertModule | undefined;
  /** Tables of the joins, in their order. */
  readonly tables: readonly JoinTable[];
  readonly transform: Transform | undefined;
  readonly plan: CompiledPlan | undefined;
  readonly keptOut: KeptOut | undefined;
}

export function createCheckTools(
  tables: readonly TableText[],
  transform: Transform | undefined,
  plan?: PlanText,
  keptOut?: KeptOutList,
): CheckTools {
  return {
    module: openConvertModule(),
    tables: tables.map(tableOf),
    transform,
    plan: plan && compilePlanText(plan),
    keptOut: keptOut && createKeptOut(keptOut),
  };
}
