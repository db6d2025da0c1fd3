import { CircleAlert, CircleCheck, Info, TriangleAlert } from 'lucide-react';
import type { ReactNode } from 'react';
import { classNames } from './class-names.ts';

const looks = {
  info: { style: 'bg-info-soft text-info', icon: Info },
  ok: { style: 'bg-ok-soft text-ok', icon: CircleCheck },
  warn: { style: 'bg-warn-soft text-warn', icon: TriangleAlert },
  danger: { style: 'bg-danger-soft text-danger', icon: CircleAlert },
} as const;

interface NoticeProps {
  readonly tone: keyof typeof looks;
  readonly children: ReactNode;
}

/** A highlighted message about the content below it. */
export function Notice({ tone, children }: NoticeProps) {
  const { style, icon: Icon } = looks[tone];
  return (
    <div className={classNames('flex gap-2 rounded-md px-3 py-2 text-sm', style)}>
      <Icon aria-hidden="true" className="mt-0.5 size-4 shrink-0" />
      <div className="min-w-0">{children}</div>
    </div>
  );
}
