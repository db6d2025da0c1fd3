import { Badge, type Tone } from './badge.tsx';

/** Shows a state as a word with a coloured dot, since colour alone is not accessible. */
export function StatusBadge({ tone, children }: { readonly tone: Tone; readonly children: string }) {
  return (
    <Badge tone={tone}>
      <span aria-hidden="true" className="size-1.5 rounded-full bg-current" />
      {children}
    </Badge>
  );
}
