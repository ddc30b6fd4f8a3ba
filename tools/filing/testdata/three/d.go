package three

const d = 1
