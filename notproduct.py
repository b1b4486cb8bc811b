class Shop: pass
X = 3
