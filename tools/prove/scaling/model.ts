/**
 * What pipelines cost, as a model: CPU = processes × seconds × idle + windows × perWindow + events × perEvent. Nothing in it depends on
 * how many processes there are but what each of them costs while it is idle.
 */
export interface CostModel {
  /** CPU seconds a second of a process that has nothing to do. */
  readonly idle: number;
  /** CPU seconds of all pipelines together. */
  readonly perWindow: number;
  readonly perEvent: number;
}

export interface WorkDone {
  readonly processes: number;
  readonly seconds: number;
  readonly windows: number;
  readonly events: number;
  /** CPU seconds of all pipelines together. */
  readonly cpu: number;
}

/** Least squares over the relative errors, so that small measurements count as much as large ones. `idle` is measured separately. */
export function fitModel(measures: readonly WorkDone[], idle: number): CostModel {
  let [ww, we, ee, wc, ec] = [0, 0, 0, 0, 0];
  for (const measure of measures) {
    const cpu = measure.cpu - measure.processes * measure.seconds * idle;
    const [windows, events] = [measure.windows / cpu, measure.events / cpu];
    ww += windows * windows;
    we += windows * events;
    ee += events * events;
    wc += windows;
    ec += events;
  }
  const determinant = ww * ee - we * we;
  if (!(determinant > 1e-6 * ww * ee))
    throw new Error('expected measures with windows of different sizes, got one size');
  return { idle, perWindow: (wc * ee - ec * we) / determinant, perEvent: (ec * ww - wc * we) / determinant };
}

/** CPU seconds that the model expects of it. */
export function expectedCpu(model: CostModel, { processes, seconds, windows, events }: Omit<WorkDone, 'cpu'>): number {
  return processes * seconds * model.idle + windows * model.perWindow + events * model.perEvent;
}
