// What a list is searched and filtered with.

interface Field {
  label: string;
  value: string;
  changed: (value: string) => void;
}

export function Choice({ label, names, value, changed }: Field & { names: string[] }) {
  return (
    <select aria-label={label} value={value} onChange={(event) => changed(event.currentTarget.value)}>
      {names.map((name) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  );
}

export function SearchField({ label, value, changed }: Field) {
  return (
    <input
      type="search"
      placeholder={label}
      aria-label={label}
      data-search=""
      spellcheck={false}
      value={value}
      onInput={(event) => changed(event.currentTarget.value)}
    />
  );
}
