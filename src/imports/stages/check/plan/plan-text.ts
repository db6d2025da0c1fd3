import { parseExact } from '../../../../base/exact-json.ts';
import { compilePlan, type CompiledPlan } from '../../../../wire/tracking-plan/compile-plan.ts';
import { readPlan } from '../../../../wire/tracking-plan/read-plan.ts';
import type { PlanText } from '../../../run/tracking-plan-of.ts';
import { stagingKeys, StagingMissingError, type Staging } from '../../../staging.ts';

export function compilePlanText({ plan }: PlanText): CompiledPlan {
  return compilePlan(readPlan(parseExact(plan)));
}

/**
 * Returns the plan of a check; `undefined` if it has none. A check that continues uses the plan with which it began: all segments are
 * validated alike.
 */
export async function planOfCheck(
  staging: Staging,
  run: string,
  current: (() => Promise<PlanText | undefined>) | undefined,
): Promise<PlanText | undefined> {
  const key = stagingKeys.checkedPlan(run);
  try {
    const chunks: Buffer[] = [];
    for await (const chunk of staging.read(key)) chunks.push(chunk);
    // This function wrote it.
    return (JSON.parse(Buffer.concat(chunks).toString()) as PlanText | null) ?? undefined;
  } catch (error) {
    if (!(error instanceof StagingMissingError)) throw error;
  }
  const plan = await current?.();
  await staging.write(key, [Buffer.from(JSON.stringify(plan ?? null))]);
  return plan;
}
