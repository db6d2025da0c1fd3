export type Labels = Readonly<Record<string, string>>;

/** One cell per combination of labels, found through nested maps without building keys. */
export interface LabelCells<Cell> {
  of(labels: Labels): Cell;
  all(): readonly { readonly labels: Labels; readonly cell: Cell }[];
}

type Level<Cell> = Map<string, Level<Cell> | Cell>;

export function createLabelCells<Cell extends object>(names: readonly string[], make: () => Cell): LabelCells<Cell> {
  const [last = ''] = names.slice(-1);
  const before = names.slice(0, -1);
  const root: Level<Cell> = new Map();
  const all: { labels: Labels; cell: Cell }[] = [];
  const add = (level: Level<Cell>, labels: Labels): Cell => {
    const cell = make();
    level.set(labels[last] ?? '', cell);
    all.push({ labels: Object.fromEntries(names.map((name) => [name, labels[name] ?? ''])), cell });
    return cell;
  };
  return {
    of(labels) {
      let level = root;
      for (const name of before) {
        const value = labels[name] ?? '';
        // Sound: only maps of the last name contain cells.
        let next = level.get(value) as Level<Cell> | undefined;
        if (next === undefined) level.set(value, (next = new Map()));
        level = next;
      }
      return (level.get(labels[last] ?? '') as Cell | undefined) ?? add(level, labels);
    },
    all: () => all,
  };
}
