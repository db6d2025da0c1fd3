import { Dialog } from '../components/dialog.tsx';

const shortcuts = [
  ['Ctrl K or ⌘ K', 'Search pages and commands'],
  ['?', 'Show this list'],
  ['/', 'Focus the filters'],
  ['j, k', 'Next and previous row of a table'],
  ['Enter', 'Open the row'],
  ['Ctrl Enter or ⌘ Enter', 'Submit the form'],
  ['Esc', 'Close the dialog or panel'],
] as const;

export function ShortcutSheet({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog open onClose={onClose} title="Keyboard shortcuts" size="small">
      <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-2">
        {shortcuts.map(([keys, meaning]) => (
          <div key={keys} className="contents">
            <dt>
              <kbd className="rounded border border-line bg-sunken px-1.5 py-0.5 font-sans text-xs">{keys}</kbd>
            </dt>
            <dd className="text-soft">{meaning}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
