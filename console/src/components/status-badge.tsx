import { Badge, type Tone } from './badge.tsx';

/** A word for a state, with a dot of its colour: colour alone says nothing. */
export function StatusBadge({ tone, children }: { readonly tone: Tone; readonly children: string }) {
  return (
    <Badge tone={tone}>
      <span aria-hidden="true" className="size-1.5 rounded-full bg-current" />
      {children}
    </Badge>
  );
}
